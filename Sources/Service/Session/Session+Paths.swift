internal import Core
internal import RPC

extension Session {
    /// The absolute path for a parameter, checked against the limits and roots.
    ///
    /// - Parameter member: the name of the parameter.
    func resolve(_ path: String, at member: String) throws(RPCError) -> String {
        guard let whole = Paths.normalized(path, relativeTo: configuration.workingDirectory) else {
            throw .parameter(member, "must not be empty or contain NUL")
        }
        if whole.utf8.count > Limits.pathByteCount {
            throw RPCError(
                ParameterError(
                    path: "params.\(member)",
                    problem: "expected at most \(Limits.pathByteCount) bytes once absolute, got \(whole.utf8.count)",
                    limit: NamedLimit(name: "pathBytes", maximum: Int64(Limits.pathByteCount))
                )
            )
        }
        if !configuration.scope.contains(whole) { throw .outsideRoots(path: whole) }
        return whole
    }
}

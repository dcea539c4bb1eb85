internal import Core
internal import Platform
internal import Service

/// Where the process works: what relative paths start from, and where files may lie.
struct WorkingPlace {
    let directory: String
    let scope: PathScope

    init(_ options: CommandLineOptions, _ log: Log) throws(StartFailure) {
        do throws(Errno) {
            directory = try currentDirectory()
        } catch {
            // A host that gives absolute paths can do without.
            log.warn("the working directory cannot be found (\(error.message)): relative paths start from /")
            directory = "/"
        }
        var roots: [PathScope.Root] = []
        for named in options.roots {
            guard let path = Paths.normalized(named, relativeTo: directory) else { continue }
            do throws(Errno) {
                let realPath = try Platform.realPath(path)
                roots.append(PathScope.Root(path: path, realPath: realPath))
                guard try FileStatus(following: realPath).kind == .directory else { throw .notDirectory }
            } catch {
                if error == .noEntry {
                    log.warn("there is no directory \(path): nothing can be written there until there is one")
                    continue
                }
                let message = "option '--root' needs a directory, got '\(named)': \(error.message)"
                throw StartFailure(message: message, code: ExitCode.usage)
            }
        }
        scope = PathScope(roots)
    }
}

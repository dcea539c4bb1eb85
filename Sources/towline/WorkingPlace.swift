internal import Core
internal import Platform
internal import Service

/// The working directory, from which relative paths start, and the allowed directories.
struct WorkingPlace {
    let directory: String
    let scope: PathScope

    init(_ options: CommandLineOptions, _ log: Log) throws(StartFailure) {
        do throws(Errno) {
            directory = try currentDirectory()
        } catch {
            // A host that sends absolute paths does not need it.
            log.warn("the working directory cannot be read (\(error.message)): relative paths start from /")
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
                    log.warn("the directory \(path) does not exist: downloads to it fail until it is created")
                    continue
                }
                let message = "option '--root' needs a directory, got '\(named)': \(error.message)"
                throw StartFailure(message: message, code: ExitCode.usage)
            }
        }
        scope = PathScope(roots)
    }
}

// Top-level code belongs to the main actor, where closures for other threads would trap: everything is in `Program`.
Program.run(arguments: Array(CommandLine.arguments.dropFirst()))

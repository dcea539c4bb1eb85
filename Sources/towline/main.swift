// Top-level code belongs to the main actor, where closures for other threads would trap, so all code is in `Program`.
Program.run(arguments: Array(CommandLine.arguments.dropFirst()))

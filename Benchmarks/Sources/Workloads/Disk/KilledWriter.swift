import Foundation
import LMDBCaching

/// A process that writes to a cache and is killed: the program `benchmark` with special arguments.
public enum KilledWriter {
  private static let name = "killed-writer"

  /// Call first in `benchmark`. Does not return in the process to be killed.
  public static func beginProgram() {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, arguments[1] == name, let size = Int(arguments[3]) else { return }
    do {
      let cache = try LMDBCache.diskOnly(directory: URL(fileURLWithPath: arguments[2]))
      for number in 0..<100 { try cache.set(Data(repeating: 7, count: size), forKey: "killed \(number)") }
      try cache.flush()
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
    kill(getpid(), SIGKILL)
  }

  /// Next to the package's other programs; `nil` if it was not built.
  static let program: URL? = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    let program = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("benchmark")
    return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
  }()

  /// Writes a hundred values to the cache in `directory`, commits them and dies.
  static func run(in directory: URL, valueSize: Int) throws {
    let process = Process()
    process.executableURL = program
    process.arguments = [name, directory.path, "\(valueSize)"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else { throw WorkloadError("The writer was not killed.") }
  }
}

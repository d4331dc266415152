import Foundation
import LMDBCaching
import Synchronization

/// A process that writes to a cache and is killed: this program, started once more.
public enum KilledWriter {
  private static let name = "killed-writer"
  private static let canStart = Atomic<Bool>(false)

  /// To be called before anything else of a program that measures. Does not return in the process that is to be killed.
  public static func beginProgram() {
    canStart.store(true, ordering: .relaxed)
    let arguments = CommandLine.arguments
    guard arguments.count == 4, arguments[1] == name, let size = Int(arguments[3]) else { return }
    do {
      let cache = try DiskCache(directory: URL(fileURLWithPath: arguments[2]))
      for number in 0..<100 { try cache.set(Data(repeating: 7, count: size), forKey: "killed \(number)") }
      try cache.flush()
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
    kill(getpid(), SIGKILL)
  }

  /// Whether ``beginProgram()`` was called: a program that does not would measure anew in place of writing.
  static var isAvailable: Bool { canStart.load(ordering: .relaxed) }

  /// Writes a hundred values to the cache in `directory`, commits them and dies.
  static func run(in directory: URL, valueSize: Int) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [name, directory.path, "\(valueSize)"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else { throw WorkloadError("The writer was not killed.") }
  }
}

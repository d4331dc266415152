import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation

/// Answers past the buffers of the C library: to flush all of them waits for a thread that reads.
private func answer(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Runs `command` for each line of the input, split at its first space.
private func serve(_ command: (_ name: String, _ argument: String) throws -> String) rethrows {
  while let line = readLine() {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    answer(try command(words[0], words.count > 1 ? words[1] : ""))
  }
}

/// Reads and writes properties in a cache, on command.
enum CacheService {
  static func run(directory: String) throws {
    var configuration = CacheConfiguration()
    configuration.disk.groupCommitInterval = .milliseconds(5)
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
    let property = EFStorageLMDBCache(wrappedValue: "default", forKey: "shared", in: cache)
    let count = EFStorageLMDBCache(wrappedValue: 0, forKey: "count", in: cache)
    try serve { name, argument in
      switch name {
      case "get": return property.wrappedValue
      case "set":
        property.wrappedValue = argument
        try cache.flush()
      default: for _ in 0..<Int(argument)! { try count.update { $0 += 1 } }
      }
      return "done"
    }
    try cache.close()
  }
}

/// Reads and writes a suite of user defaults, on command. Prints each reported failure.
enum DefaultsService {
  static func run(suite: String) throws {
    guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
    func reference(_ key: String) -> EFStorageUserDefaultsRef<Int> { .forKey(key, in: defaults) }
    let observation = EFStorageFailure.observe { answer("\($0.kind) \($0.key)") }
    serve { name, argument in
      switch name {
      case "fill":
        for number in 0..<100 { reference("key\(number)").content = number }
        return "filled"
      case "set":
        reference("changing").content = Int(argument)
        return "set \(argument)"
      case "check":
        let missing = (0..<100).count { (number: Int) in reference("key\(number)").content != number }
        return "missing \(missing) changing \(reference("changing").content.map(String.init) ?? "nil")"
      case "persist":
        let contents = (0..<30).map { number in
          EFStorageUserDefaults(
            wrappedValue: Int(argument)!, forKey: "persisted\(number)", in: defaults, persistDefaultContent: true
          ).wrappedValue
        }
        return "\(contents)"
      default: return "ready"
      }
    }
    withExtendedLifetime(observation) {}
  }
}

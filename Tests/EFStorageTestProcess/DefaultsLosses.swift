import EFStorageUserDefaults
import Foundation

/// Writes to a suite and ends, or is ended, while the suite is written to its file.
enum DefaultsLosses {
  /// How many contents there are beside the one that changes.
  static let count = 100

  private static func reference(_ key: String, _ suite: String) throws -> EFStorageUserDefaultsRef<Int> {
    guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
    return EFStorageUserDefaultsRef<Int>.forKey(key, in: defaults)
  }

  /// Past the buffers of the C library: to flush all of them waits for a thread that reads.
  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  static func fill(suite: String) throws {
    for number in 0..<count { try reference("key\(number)", suite).content = number }
  }

  /// Sets a content, and exits after so many microseconds.
  static func exit(suite: String, content: Int, after microseconds: UInt32) throws {
    try reference("changing", suite).content = content
    usleep(microseconds)
    Foundation.exit(0)
  }

  /// Sets contents, until it is killed or its input ends. Says which one it has set, and what fails.
  static func churn(suite: String) throws {
    let observation = EFStorageFailure.observe { say("\($0.kind) \($0.key)") }
    let reference = try reference("changing", suite)
    while let line = readLine() {
      reference.content = Int(line)
      say("set \(line)")
    }
    withExtendedLifetime(observation) {}
  }

  /// Says what is in a suite, and what was told of it.
  static func check(suite: String) throws {
    let observation = EFStorageFailure.observe { print("\($0.kind) \($0.key)") }
    var missing = 0
    for number in 0..<count where try reference("key\(number)", suite).content != number { missing += 1 }
    let changing = try reference("changing", suite).content
    print("missing \(missing) changing \(changing.map(String.init) ?? "nil")")
    withExtendedLifetime(observation) {}
  }

  /// Makes properties that store their defaults, and says what they are.
  static func persist(suite: String, content: Int) throws {
    guard let defaults = UserDefaults(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
    say("ready")
    _ = readLine()
    let contents = (0..<30).map { number in
      EFStorageUserDefaults(
        wrappedValue: content, forKey: "persisted\(number)", in: defaults, persistDefaultContent: true
      ).wrappedValue
    }
    print(contents)
  }
}

import EFStorageCore
import EFStorageUserDefaults
import Foundation

/// Sets a content of a suite, and ends, or is ended, while the suite is written to its file:
/// `exit SUITE CONTENT MICROSECONDS`, `wait SUITE CONTENT`; or says what is there: `check SUITE`.
enum UserDefaultsRole: TrialRole {
  static let name = "user-defaults"
  /// How many contents there are beside the one that changes.
  static let count = 100

  static func run(_ arguments: [String]) throws {
    guard let defaults = UserDefaults(suiteName: arguments[1]) else { throw CocoaError(.fileNoSuchFile) }
    func reference(_ key: String) -> EFStorageUserDefaultsRef<Int> { .forKey(key, in: defaults) }
    switch arguments[0] {
    case "fill":
      for number in 0..<count { reference("key\(number)").content = number }
    case "exit":
      reference("changing").content = Int(arguments[2])
      usleep(UInt32(arguments[3])!)
      exit(0)
    case "wait":
      reference("changing").content = Int(arguments[2])
      answer("set")
      while true { pause() }
    default:
      let observation = EFStorageFailure.observe { answer("\($0.kind) \($0.key)") }
      let missing = (0..<count).count { reference("key\($0)").content != $0 }
      answer("missing \(missing) changing \(reference("changing").content.map(String.init) ?? "nil")")
      withExtendedLifetime(observation) {}
    }
  }
}

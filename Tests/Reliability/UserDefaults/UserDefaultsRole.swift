import EFStorageCore
import EFStorageUserDefaults
import Foundation

/// Sets a suite's contents, and exits or gets killed while the suite is written: `exit SUITE CONTENT MICROSECONDS`,
/// `wait SUITE CONTENT`. Or prints the contents: `check SUITE`.
enum UserDefaultsRole: TrialRole {
  static let name = "user-defaults"
  /// The number of constant entries besides the changing one.
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

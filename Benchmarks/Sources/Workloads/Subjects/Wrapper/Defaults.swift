import Foundation

/// User defaults in a separate domain.
struct Defaults {
  private let name = "lmdb-cache-benchmark-\(getpid())"
  private let defaults: UserDefaults

  init() throws {
    guard let defaults = UserDefaults(suiteName: name) else { throw WorkloadError("There are no user defaults.") }
    self.defaults = defaults
    defaults.set(1, forKey: "number")
    defaults.set(LockedProperties.text, forKey: "text")
  }

  func readNumbers(_ count: Int) throws {
    var sum = 0
    for _ in 0..<count { sum &+= defaults.integer(forKey: "number") }
    guard sum != 0 else { throw WorkloadError("UserDefaults lost a number.") }
  }

  func readTexts(_ count: Int) throws {
    var sum = 0
    for _ in 0..<count { sum &+= defaults.string(forKey: "text")?.utf8.count ?? 0 }
    guard sum == count * LockedProperties.text.utf8.count else { throw WorkloadError("UserDefaults lost a text.") }
  }

  func write(_ count: Int) {
    for number in 1...count { defaults.set(number, forKey: "number") }
  }

  func remove() { defaults.removePersistentDomain(forName: name) }
}

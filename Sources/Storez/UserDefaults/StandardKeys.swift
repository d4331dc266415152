import Foundation

/// The keys in the standard defaults that are a store's; kept there too. With the lock for setting held.
enum StandardKeys {
  private static let name = "storez.keys"

  static func all(in defaults: UserDefaults) -> [String] { defaults.object(forKey: name) as? [String] ?? [] }

  static func insert(_ key: String, in defaults: UserDefaults) {
    let keys = all(in: defaults)
    if !keys.contains(key) { defaults.set(keys + [key], forKey: name) }
  }

  static func removeAll(in defaults: UserDefaults) { defaults.removeObject(forKey: name) }
}

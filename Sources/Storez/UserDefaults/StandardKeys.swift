import Foundation

/// The list of the keys in the standard defaults that are a store's, which is kept there too. All with the lock for
/// setting held.
enum StandardKeys {
  /// No key of a store may have this name.
  static let name = "storez.keys"

  static func isReserved(_ key: String) -> Bool { key.utf8.elementsEqual(name.utf8) }

  static func checkName(_ key: String) throws(ConversionError) {
    guard isReserved(key) else { return }
    throw ConversionError(
      "A store in the standard user defaults keeps the list of its keys under \"\(name)\". Use another name.")
  }

  /// - Throws: `ConversionError` if something else is under the name.
  static func all(in defaults: UserDefaults) throws(ConversionError) -> [String] {
    guard let object = defaults.object(forKey: name) else { return [] }
    if let keys = object as? [String] { return keys }
    throw ConversionError(
      "What the standard user defaults have under \"\(name)\" is no list of a store's keys. Remove it.")
  }

  static func insert(_ key: String, in defaults: UserDefaults) throws(ConversionError) {
    let keys = try all(in: defaults)
    if !keys.contains(where: { $0.utf8.elementsEqual(key.utf8) }) { defaults.set(keys + [key], forKey: name) }
  }

  static func removeAll(in defaults: UserDefaults) { defaults.removeObject(forKey: name) }
}

import EFStorageCore
public import Foundation
import FoundationArchives

extension Array: AsIsUserDefaultsStorable where Element: AsIsUserDefaultsStorable {}
extension Dictionary: AsIsUserDefaultsStorable where Key == String, Value: AsIsUserDefaultsStorable {}

extension Array: UserDefaultsStorable where Element: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    if let self = self as? any AsIsUserDefaultsStorable { return .success(self) }
    return Result { ConvertedObject(object: try map { try PropertyListValue.element($0) }) }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> [Element]? {
    reading(userDefaults, key) { object in
      guard let objects = object as? [Any] else { return nil }
      let defaults = ElementDefaults()
      var elements: [Element] = []
      for object in objects {
        guard let element = try defaults.read(Element.self, from: object) else { return nil }
        elements.append(element)
      }
      return elements
    }
  }
}

/// Stored as an array, in an order that depends only on the elements, except dictionaries.
extension Set: UserDefaultsStorable where Element: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result {
      let objects = try map { element in
        let object = try PropertyListValue.element(element)
        return (object, (object as? Data)?.base64EncodedString() ?? "\(object)")
      }
      return ConvertedObject(object: objects.sorted { $0.1.utf8.lexicographicallyPrecedes($1.1.utf8) }.map { $0.0 })
    }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Set<Element>? {
    LoadingErrors.noting(forKey: key) { try [Element].loadFromUserDefaults(userDefaults, forKey: key).map { Set($0) } }
  }
}

extension Dictionary: UserDefaultsStorable where Key == String, Value: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    if let self = self as? any AsIsUserDefaultsStorable { return .success(self) }
    return Result {
      ConvertedObject(object: PropertyListValue.storedDictionary(try mapValues { try PropertyListValue.element($0) }))
    }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> [String: Value]? {
    reading(userDefaults, key) { object in
      guard let entries = PropertyListValue.entries(of: object) else { return nil }
      let defaults = ElementDefaults()
      var values: [String: Value] = [:]
      for (name, object) in entries {
        guard let value = try defaults.read(Value.self, from: object) else { return nil }
        values[name] = value
      }
      return values
    }
  }
}

extension UserDefaultsStorable {
  /// Reads a collection as it is, or else with `convert`, which returns `nil` for other objects.
  fileprivate static func reading(
    _ userDefaults: UserDefaults, _ key: String, convert: (Any) throws -> Self?
  ) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let object = userDefaults.object(forKey: key) else { return nil }
      let value =
        Self.self is any AsIsUserDefaultsStorable.Type
        ? PropertyListValue.read(Self.self, from: object) : try convert(object)
      guard let value else { throw UserDefaultsStorableError(stored: object, Self.self) }
      return value
    }
  }
}

/// Defaults with one object under every key, from which elements read themselves.
private final class ElementDefaults: UserDefaults {
  private var element: Any?

  init() { super.init(suiteName: nil)! }

  override func object(forKey defaultName: String) -> Any? { element }

  func read<Element: UserDefaultsStorable>(_ type: Element.Type, from object: Any) throws -> Element? {
    element = PropertyListValue.unwrapped(object)
    return try Element.loadFromUserDefaults(self, forKey: "")
  }
}

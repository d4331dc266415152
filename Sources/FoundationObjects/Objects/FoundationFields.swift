#if !canImport(Darwin)
  package import Foundation

  /// An unarchiver of either kind, as the source of a Foundation object's fields.
  ///
  /// A missing field is `nil`, 0 or false. A field of another kind is the same, and an error of the unarchiver.
  package protocol FoundationFields: NSCoder {
    func spelling(of key: FieldKey) -> String

    /// A text as a Swift string, so that no instance is made twice.
    func string(forKey key: String) -> String?

    /// A dictionary that may hold the currently allowed classes and some additional ones.
    func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary?
  }

  extension FoundationFields {
    package func contains(_ key: FieldKey) -> Bool { containsValue(forKey: spelling(of: key)) }
    package func integer(_ key: FieldKey) -> Int { decodeInteger(forKey: spelling(of: key)) }
    package func number(_ key: FieldKey) -> Double { decodeDouble(forKey: spelling(of: key)) }
    package func string(_ key: FieldKey) -> String? { string(forKey: spelling(of: key)) }

    package func object<Object: NSObject & NSCoding>(_ type: Object.Type, _ key: FieldKey) -> Object? {
      decodeObject(of: type, forKey: spelling(of: key))
    }

    package func dictionary(_ key: FieldKey, allowing others: [AnyClass] = []) -> NSDictionary? {
      dictionary(allowing: others, forKey: spelling(of: key))
    }
  }
#endif

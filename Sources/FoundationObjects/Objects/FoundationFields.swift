#if !canImport(Darwin)
  package import Foundation

  /// What the fields of an object of Foundation's are read from: an unarchiver of either kind of archive.
  ///
  /// A field that is not there is `nil`, 0 or false. One that is of another kind than asked for is an error of the
  /// unarchiver, and `nil`, 0 or false as well.
  package protocol FoundationFields: NSCoder {
    /// Returns how this kind of archive spells a key.
    func spelling(of key: FieldKey) -> String

    /// Returns a text, a Swift string so that no instance is made twice.
    func string(forKey key: String) -> String?

    /// Returns a dictionary that may hold what is allowed around it, and objects of some more classes.
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

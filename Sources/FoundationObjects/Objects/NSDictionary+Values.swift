#if !canImport(Darwin)
  package import Foundation

  extension NSDictionary {
    /// Returns the values by their keys, or `nil` if a key is no string.
    package func valuesByName() -> [String: Any]? {
      var values: [String: Any] = [:]
      for key in allKeys {
        guard let name = key as? NSString, let value = object(forKey: key) else { return nil }
        values[name as String] = value
      }
      return values
    }

    /// Returns the attributes of a run of text, or `nil` if a key is no string.
    package func attributes() -> [NSAttributedString.Key: Any]? {
      valuesByName().map { values in
        Dictionary(uniqueKeysWithValues: values.map { (NSAttributedString.Key($0), $1) })
      }
    }
  }
#endif

#if !canImport(Darwin)
  package import Foundation

  extension NSDictionary {
    /// The values by key, or `nil` if a key is not a string.
    package func valuesByName() -> [String: Any]? {
      var values: [String: Any] = [:]
      for key in allKeys {
        guard let name = key as? NSString, let value = object(forKey: key) else { return nil }
        values[name as String] = value
      }
      return values
    }

    /// The attributes of a run of text, or `nil` if a key is not a string.
    package func attributes() -> [NSAttributedString.Key: Any]? {
      valuesByName().map { values in
        Dictionary(uniqueKeysWithValues: values.map { (NSAttributedString.Key($0), $1) })
      }
    }
  }
#endif

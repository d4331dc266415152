#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationCoding {
    static let texts: [FoundationCoding] = [
      make(NSAttributedString.self) { string, coder in
        encode(string, coder)
      } decode: { coder in
        decodeAttributed(coder).map { NSAttributedString(attributedString: $0) }
      },
      make(NSMutableAttributedString.self) { string, coder in
        encode(string, coder)
      } decode: { coder in
        decodeAttributed(coder)
      },
      make(NSCharacterSet.self) { set, coder in
        coder.encode(set.bitmapRepresentation as Any?, forKey: "bitmap")
      } decode: { coder in
        coder.decodeObject(of: NSData.self, forKey: "bitmap").flatMap { bitmap in
          NSCharacterSet.checked(bitmap: Data(bytes: bitmap.bytes, count: bitmap.length))
        }
      },
      make(NSRegularExpression.self) { expression, coder in
        coder.encode(expression.pattern as String?, forKey: "pattern")
        coder.encode(Int(expression.options.rawValue), forKey: "options")
      },
      make(NSURLQueryItem.self) { item, coder in
        coder.encode(item.name as String?, forKey: "name")
        coder.encode(item.value, forKey: "value")
      },
      make(NSPersonNameComponents.self) { name, coder in
        coder.encode(name.namePrefix, forKey: "namePrefix")
        coder.encode(name.givenName, forKey: "givenName")
        coder.encode(name.middleName, forKey: "middleName")
        coder.encode(name.familyName, forKey: "familyName")
        coder.encode(name.nameSuffix, forKey: "nameSuffix")
        coder.encode(name.nickname, forKey: "nickname")
        if let phonetic = name.phoneticRepresentation { coder.encode(phonetic as Any?, forKey: "phonetic") }
      },
    ]

    /// Writes the string, the lengths of the runs in UTF-16 units, and each run's attributes.
    private static func encode(_ string: NSAttributedString, _ coder: CBORKeyedArchiver) {
      coder.encode(string.string as String?, forKey: "string")
      var lengths: [Int] = []
      var attributes: [NSDictionary] = []
      var location = 0
      while location < string.length {
        var range = NSRange()
        let found = string.attributes(at: location, effectiveRange: &range)
        attributes.append(NSDictionary(dictionary: Dictionary(uniqueKeysWithValues: found.map { ($0.rawValue, $1) })))
        lengths.append(range.location + range.length - location)
        location = range.location + range.length
      }
      guard lengths.count > 1 || attributes.first?.count ?? 0 > 0 else { return }
      coder.encode(lengths, forKey: "lengths")
      coder.encode(NSArray(array: attributes) as Any?, forKey: "attributes")
    }

    private static func decodeAttributed(_ coder: CBORKeyedUnarchiver) -> NSMutableAttributedString? {
      guard let text = coder.string(forKey: "string") else { return nil }
      let string = NSMutableAttributedString(string: text)
      guard let lengths = coder.integers(forKey: "lengths") else { return string }
      guard let attributes = coder.contents(NSArray.self, [NSDictionary.self], forKey: "attributes"),
        case let runs = FoundationElements.elements(of: attributes), runs.count == lengths.count
      else { return nil }
      var location = 0
      for (index, length) in lengths.enumerated() {
        guard length > 0, length <= string.length - location,
          let values = (runs[index] as? NSDictionary)?.attributes()
        else { return nil }
        string.setAttributes(values, range: NSRange(location: location, length: length))
        location += length
      }
      return location == string.length ? string : nil
    }
  }
#endif

#if !canImport(Darwin)
  import Foundation

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
        guard let bitmap = coder.decodeObject(of: NSData.self, forKey: "bitmap"), bitmap.length >= 8192 else {
          return nil
        }
        return NSCharacterSet(bitmapRepresentation: Data(bytes: bitmap.bytes, count: bitmap.length))
      },
      make(NSRegularExpression.self) { expression, coder in
        coder.encode(expression.pattern as String?, forKey: "pattern")
        coder.encode(Int(expression.options.rawValue), forKey: "options")
      } decode: { coder in
        guard let pattern = coder.string(forKey: "pattern"),
          let options = UInt(exactly: coder.decodeInteger(forKey: "options"))
        else { return nil }
        return try? NSRegularExpression(pattern: pattern, options: NSRegularExpression.Options(rawValue: options))
      },
      make(NSURLQueryItem.self, hashing: .fragile) { item, coder in
        coder.encode(item.name as String?, forKey: "name")
        coder.encode(item.value, forKey: "value")
      } decode: { coder in
        coder.string(forKey: "name").map { NSURLQueryItem(name: $0, value: coder.string(forKey: "value")) }
      },
      make(NSPersonNameComponents.self, hashing: .fragile) { name, coder in
        coder.encode(name.namePrefix, forKey: "namePrefix")
        coder.encode(name.givenName, forKey: "givenName")
        coder.encode(name.middleName, forKey: "middleName")
        coder.encode(name.familyName, forKey: "familyName")
        coder.encode(name.nameSuffix, forKey: "nameSuffix")
        coder.encode(name.nickname, forKey: "nickname")
        if let phonetic = name.phoneticRepresentation { coder.encode(phonetic as Any?, forKey: "phonetic") }
      } decode: { coder in
        let name = NSPersonNameComponents()
        name.namePrefix = coder.string(forKey: "namePrefix")
        name.givenName = coder.string(forKey: "givenName")
        name.middleName = coder.string(forKey: "middleName")
        name.familyName = coder.string(forKey: "familyName")
        name.nameSuffix = coder.string(forKey: "nameSuffix")
        name.nickname = coder.string(forKey: "nickname")
        if let phonetic = coder.decodeObject(of: NSPersonNameComponents.self, forKey: "phonetic") {
          name.phoneticRepresentation = phonetic as PersonNameComponents
        }
        return name
      },
    ]

    /// The string, the lengths of the runs in UTF-16 units, and for each run its attributes.
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
      guard let attributes = coder.contents(NSArray.self, NSDictionary.self, forKey: "attributes"),
        case let runs = FoundationElements.elements(of: attributes), runs.count == lengths.count
      else { return nil }
      var location = 0
      for (index, length) in lengths.enumerated() {
        guard length > 0, length <= string.length - location, let run = runs[index] as? NSDictionary
        else { return nil }
        var values: [NSAttributedString.Key: Any] = [:]
        for key in run.allKeys {
          guard let name = key as? NSString, let value = run.object(forKey: key) else { return nil }
          values[NSAttributedString.Key(name as String)] = value
        }
        string.setAttributes(values, range: NSRange(location: location, length: length))
        location += length
      }
      return location == string.length ? string : nil
    }
  }
#endif

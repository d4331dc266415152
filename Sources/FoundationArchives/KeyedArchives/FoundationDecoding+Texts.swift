#if !canImport(Darwin)
  import Foundation

  extension FoundationDecoding {
    static let texts: [FoundationDecoding] = [
      make(NSAttributedString.self) { reader throws(KeyedArchiveError) in
        try attributed(reader).map { NSAttributedString(attributedString: $0) }
      },
      make(NSMutableAttributedString.self) { reader throws(KeyedArchiveError) in try attributed(reader) },
      make(NSCharacterSet.self) { reader in
        if let text = reader.string(forKey: "NSString") { return NSCharacterSet(charactersIn: text) }
        if reader.containsValue(forKey: "NSRange") {
          let location = reader.integer(forKey: "NSRangeLocation", Int.self)
          let length = reader.integer(forKey: "NSRange", Int.self)
          guard location >= 0, length >= 0, location <= 0x10FFFF, length <= 0x110000 - location else { return nil }
          return NSCharacterSet(range: NSRange(location: location, length: length))
        }
        let key = reader.containsValue(forKey: "NSBitmap") ? "NSBitmap" : "NSBitmapObject"
        guard let bitmap = reader.data(forKey: key), bitmap.count >= 8192 else { return nil }
        return NSCharacterSet(bitmapRepresentation: bitmap)
      },
      make(NSRegularExpression.self) { reader in
        guard let pattern = reader.string(forKey: "NSPattern"),
          case let options = reader.integer(forKey: "NSOptions", UInt.self)
        else { return nil }
        return try? NSRegularExpression(pattern: pattern, options: NSRegularExpression.Options(rawValue: options))
      },
      make(NSURLQueryItem.self) { reader in
        reader.string(forKey: "NS.name").map { NSURLQueryItem(name: $0, value: reader.string(forKey: "NS.value")) }
      },
      make(NSPersonNameComponents.self) { reader in
        let name = NSPersonNameComponents()
        name.namePrefix = reader.string(forKey: "NS.namePrefix")
        name.givenName = reader.string(forKey: "NS.givenName")
        name.middleName = reader.string(forKey: "NS.middleName")
        name.familyName = reader.string(forKey: "NS.familyName")
        name.nameSuffix = reader.string(forKey: "NS.nameSuffix")
        name.nickname = reader.string(forKey: "NS.nickname")
        return name
      },
      make(NSError.self) { reader in
        guard let domain = reader.string(forKey: "NSDomain") else { return nil }
        let code = reader.integer(forKey: "NSCode", Int.self)
        guard let contents = reader.object(NSDictionary.self, forKey: "NSUserInfo") else {
          return NSError(domain: domain, code: code)
        }
        var userInfo: [String: Any] = [:]
        for key in contents.allKeys {
          guard let name = key as? NSString, let value = contents.object(forKey: key) else { return nil }
          userInfo[name as String] = value
        }
        return NSError(domain: domain, code: code, userInfo: userInfo)
      },
      make(NSNotification.self) { reader in
        guard let name = reader.string(forKey: "NS.name") else { return nil }
        let object = reader.value(forKey: "NS.object")
        guard let contents = reader.object(NSDictionary.self, forKey: "NS.userinfo") else {
          return NSNotification(name: NSNotification.Name(name), object: object, userInfo: nil)
        }
        var userInfo: [AnyHashable: Any] = [:]
        for key in contents.allKeys {
          // To cast the dictionary ends the process if a key is an array.
          guard let key = key as? NSObject, !(key is NSArray), !(key is NSDictionary) else { return nil }
          userInfo[(key as? NSString).map { AnyHashable($0 as String) } ?? AnyHashable(key)] = contents.object(
            forKey: key)
        }
        return NSNotification(name: NSNotification.Name(name), object: object, userInfo: userInfo)
      },
    ]

    /// The string; for one run its attributes, for more an array of attributes, and of each run its length and the
    /// number of its attributes.
    private static func attributed(
      _ reader: KeyedArchiveReader
    ) throws(KeyedArchiveError) -> NSMutableAttributedString? {
      guard let text = reader.string(forKey: "NSString") else { return nil }
      let string = NSMutableAttributedString(string: text)
      guard let attributes = reader.value(forKey: "NSAttributes") else { return string }
      if let attributes = attributes as? NSDictionary {
        guard let values = self.attributes(attributes) else { return nil }
        string.setAttributes(values, range: NSRange(location: 0, length: string.length))
        return string
      }
      guard let all = attributes as? NSArray, let data = reader.data(forKey: "NSAttributeInfo"),
        case let info = try KeyedArchiveReader.packedIntegers(data), info.count.isMultiple(of: 2)
      else { return nil }
      var location = 0
      for index in stride(from: 0, to: info.count, by: 2) {
        let (length, number) = (info[index], info[index + 1])
        guard length >= 0, length <= string.length - location, number < all.count,
          let found = all.object(at: number) as? NSDictionary, let values = self.attributes(found)
        else { return nil }
        // Runs of the same attributes may take them from one dictionary, each time anew.
        try reader.charge(1 + values.count)
        string.setAttributes(values, range: NSRange(location: location, length: length))
        location += length
      }
      return location == string.length ? string : nil
    }

    private static func attributes(_ dictionary: NSDictionary) -> [NSAttributedString.Key: Any]? {
      var values: [NSAttributedString.Key: Any] = [:]
      for key in dictionary.allKeys {
        guard let name = key as? NSString, let value = dictionary.object(forKey: key) else { return nil }
        values[NSAttributedString.Key(name as String)] = value
      }
      return values
    }
  }
#endif

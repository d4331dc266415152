#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationDecoding {
    static let texts: [FoundationDecoding] = [
      make(NSAttributedString.self) { reader throws(KeyedArchiveError) in
        try attributed(reader).map { NSAttributedString(attributedString: $0) }
      },
      make(NSMutableAttributedString.self) { reader throws(KeyedArchiveError) in try attributed(reader) },
      make(NSCharacterSet.self) { reader in
        guard let set = characters(reader) else { return nil }
        return reader.decodeBool(forKey: "NSIsInverted") ? set.inverted as NSCharacterSet : set
      },
    ]

    private static func characters(_ reader: KeyedArchiveReader) -> NSCharacterSet? {
      if let text = reader.string(forKey: "NSString") { return NSCharacterSet(charactersIn: text) }
      if reader.containsValue(forKey: "NSBuiltinID") {
        let number = reader.integer(forKey: "NSBuiltinID", Int.self)
        return (1...builtInSets.count).contains(number) ? builtInSets[number - 1] as NSCharacterSet : nil
      }
      if reader.containsValue(forKey: "NSRange") {
        // The first character in the upper half, the count in the lower.
        let packed = UInt64(bitPattern: reader.integer(forKey: "NSRange", Int64.self))
        let (location, length) = (Int(packed >> 32), Int(packed & 0xFFFF_FFFF))
        guard location <= 0x10FFFF, length <= 0x110000 - location else { return nil }
        return NSCharacterSet(range: NSRange(location: location, length: length))
      }
      let key = reader.containsValue(forKey: "NSBitmap") ? "NSBitmap" : "NSBitmapObject"
      return reader.data(forKey: key).flatMap { NSCharacterSet.checked(bitmap: $0) }
    }

    /// Ordered by number, from 1.
    private static let builtInSets: [CharacterSet] = [
      .controlCharacters, .whitespaces, .whitespacesAndNewlines, .decimalDigits, .letters, .lowercaseLetters,
      .uppercaseLetters, .nonBaseCharacters, .decomposables, .alphanumerics, .punctuationCharacters,
      .illegalCharacters, .capitalizedLetters, .symbols, .newlines,
    ]

    /// Reads the string with its attributes: a dictionary for one run, or an array of them with each run's length and
    /// attribute count.
    private static func attributed(
      _ reader: KeyedArchiveReader
    ) throws(KeyedArchiveError) -> NSMutableAttributedString? {
      guard let text = reader.string(forKey: "NSString") else { return nil }
      let string = NSMutableAttributedString(string: text)
      guard let attributes = reader.value(forKey: "NSAttributes") else { return string }
      if let attributes = attributes as? NSDictionary {
        guard let values = attributes.attributes() else { return nil }
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
          let values = (all.object(at: number) as? NSDictionary)?.attributes()
        else { return nil }
        // Runs may share one dictionary, so charge for each use.
        try reader.charge(1 + values.count)
        string.setAttributes(values, range: NSRange(location: location, length: length))
        location += length
      }
      return location == string.length ? string : nil
    }
  }
#endif

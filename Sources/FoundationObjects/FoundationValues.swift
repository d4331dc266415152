package import Foundation

extension Decimal {
  /// A decimal number, or `nil` if the exponent is out of range.
  package init?(mantissa: UInt128, isNegative: Bool, exponent: Int) {
    guard (-128...127).contains(exponent) else { return nil }
    if let significand = UInt64(exactly: mantissa), mantissa == 0 || (-100...100).contains(exponent) {
      // The common case; text is slower.
      self.init(
        sign: isNegative && mantissa != 0 ? .minus : .plus, exponent: mantissa == 0 ? 0 : exponent,
        significand: Decimal(significand))
    } else {
      // Arithmetic would strip trailing zeros from the mantissa and then overflow the exponent of large values.
      self.init(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent)")
    }
  }
}

extension IndexSet {
  /// Each range's start and length, ascending and not adjacent, as in index sets.
  ///
  /// Returns `nil` for other numbers.
  package init?(checking ranges: [Int]) {
    guard ranges.count.isMultiple(of: 2) else { return nil }
    self.init()
    var end = -1
    for index in stride(from: 0, to: ranges.count, by: 2) {
      let (location, length) = (ranges[index], ranges[index + 1])
      // Below NSNotFound, which means no index.
      guard location > end, length > 0, length <= NSNotFound - location else { return nil }
      end = location + length
      insert(integersIn: location..<end)
    }
  }
}

extension NSURL {
  /// The URL as a Swift value, or `nil` if `URL` cannot hold it: a cast would end the process on Linux.
  package var swiftValue: URL? { URL(string: relativeString, relativeTo: baseURL) }

  /// A URL, or `nil` if the text or the base is invalid.
  package static func checked(_ text: String, relativeTo base: NSURL?) -> NSURL? {
    guard let base else { return NSURL(string: text) }
    return base.swiftValue.flatMap { NSURL(string: text, relativeTo: $0) }
  }
}

#if !canImport(Darwin)
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

extension NSCharacterSet {
  /// A character set, or `nil` if the bitmap is shorter than the first plane, which Foundation always reads.
  package static func checked(bitmap: Data) -> NSCharacterSet? {
    bitmap.count >= 8192 ? NSCharacterSet(bitmapRepresentation: bitmap) : nil
  }
}

/// Foundation's value classes, allowed in every archive.
package enum ValueClasses {
  package static let basic: [AnyClass] = [
    NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self, NSSet.self,
    NSOrderedSet.self, NSURL.self, NSUUID.self, NSNull.self,
  ]
}

#if !canImport(Darwin)
  package import Foundation
  package import FoundationObjects

  extension CBORKeyedUnarchiver {
    /// Reads an object of a Foundation class with a special form.
    func readFoundationValue(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ number: Int?, _ start: Int
    ) throws(CBORCodingError) -> AnyObject {
      switch record.pointee.form {
      case .mutableString: return NSMutableString(string: try readText(&reader))
      case .mutableData:
        let bytes = try readBytes(&reader)
        budget.count(bytes.count >> 6)
        return NSMutableData(bytes: bytes.baseAddress, length: bytes.count)
      case .mutableArray: return try readMutableArray(&reader, number, start)
      case .mutableDictionary: return try readMutableDictionary(&reader, number, start)
      case .mutableSet: return try readSet(&reader, NSMutableSet.self)
      case .countedSet: return try readCountedSet(&reader)
      case .orderedSet: return try readOrderedSet(&reader, isMutable: false)
      case .mutableOrderedSet: return try readOrderedSet(&reader, isMutable: true)
      case .date: return NSDate(timeIntervalSinceReferenceDate: try readNumber(&reader))
      case .url: return try readRelativeURL(&reader, start)
      case .decimalNumber:
        guard try readNumber(&reader).isNaN else { throw mismatch("a decimal number", at: start) }
        return NSDecimalNumber.notANumber
      default:
        throw corrupt(
          "Objects of class \(ClassDescription.name(of: record)) cannot be decoded", .decodingFailed, at: start)
      }
    }

    private func readRelativeURL(_ reader: inout CBORReader, _ start: Int) throws(CBORCodingError) -> NSURL {
      try readArray(of: 2, &reader)
      let text = try readText(&reader)
      try enter(start)
      defer { depth.leave() }
      guard let base = try readItem(&reader, isElement: false) as? NSURL,
        let url = NSURL.checked(text, relativeTo: base)
      else { throw mismatch("a URL with a base", at: start) }
      return url
    }
  }

  extension CBORKeyedUnarchiver: FoundationFields {
    package func spelling(of key: FieldKey) -> String { key.own }

    package func string(forKey key: String) -> String? {
      decodeObject(of: NSString.self, forKey: key).map { $0 as String }
    }

    package func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary? {
      contents(NSDictionary.self, others, forKey: key)
    }

    /// Decodes a collection of the currently allowed classes and some additional ones.
    func contents<Collection: NSObject>(
      _ type: Collection.Type, _ others: [AnyClass], forKey key: String
    ) -> Collection? {
      decodeObject(of: allowed.all + [type] + others, forKey: key) as? Collection
    }
  }
#endif

#if !canImport(Darwin)
  import Foundation
  import FoundationArchives

  extension CBORKeyedUnarchiver {
    /// Reads what is under the name of one of Foundation's classes that have a form of their own.
    func readFoundationValue(
      _ record: ClassRecord.Reference, _ reader: inout CBORReader, _ number: Int?, _ start: Int
    ) throws(CacheError) -> AnyObject {
      switch record.pointee.form {
      case .mutableString: return NSMutableString(string: try readText(&reader))
      case .mutableData:
        let bytes = try readBytes(&reader)
        countWork(bytes.count >> 6)
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
        throw corrupt("Objects of class \(ClassDescription.name(of: record)) cannot be decoded", at: start)
      }
    }

    private func readRelativeURL(_ reader: inout CBORReader, _ start: Int) throws(CacheError) -> NSURL {
      try readArray(of: 2, &reader)
      let text = try readText(&reader)
      try enter(start)
      defer { depth &-= 1 }
      guard let base = try readItem(&reader, isElement: false) as? NSURL,
        let baseURL = base.swiftValue, let url = NSURL(string: text, relativeTo: baseURL)
      else { throw mismatch("a URL with a base", at: start) }
      return url
    }
  }
#endif

import Foundation
import FoundationArchives

extension PropertyListValue {
  /// Returns the object to store, or `nil` to store none.
  static func object(of value: any AsIsUserDefaultsStorable) throws(UserDefaultsStorableError) -> Any? {
    guard let value = unwrapped(value) else { return nil }
    return try object(value)
  }

  static func element(_ value: some UserDefaultsStorable) throws -> Any {
    guard let object = try object(of: value.asUserDefaultsStorable().get()) else {
      throw UserDefaultsStorableError(.unstorable, "A property list's collection cannot hold nil. Leave it out.")
    }
    return object
  }

  private static func object(_ value: Any) throws(UserDefaultsStorableError) -> Any {
    switch value {
    case let value as ConvertedObject: return value.object
    case let value as Bool: return value
    case let value as any BinaryInteger: return try integer(value)
    case let value as any BinaryFloatingPoint: return number(value)
    case let value as String: return text(value)
    case is Data: return value
    case let value as Date: return date(value)
    case let value as URL: return try url(value)
    case let value as UUID: return value.uuidString
    case let value as Decimal:
      guard value.isFinite else {
        throw UserDefaultsStorableError(.unstorable, "A decimal that is no number cannot be stored. Store an optional.")
      }
      return value.description
    case let value as NSNumber: return value
    case let value as NSString: return text(String(describing: value))
    case let value as NSData: return Data(referencing: value)
    case let value as NSDate: return date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
    case let value as [Any]: return try array(value)
    case let value as [String: Any]: return try dictionary(value)
    case let value as NSArray: return try array(value.map { $0 })
    case let value as NSDictionary:
      guard let value = value as? [String: Any] else {
        throw UserDefaultsStorableError(
          .unstorable, "A dictionary in user defaults has strings for keys. Make its keys strings.")
      }
      return try dictionary(value)
    default:
      throw UserDefaultsStorableError(
        .unstorable,
        "A \(type(of: value)) is nothing that a property list can hold. Make its type Codable, and UserDefaultsStorable."
      )
    }
  }

  private static func integer(_ value: some BinaryInteger) throws(UserDefaultsStorableError) -> Any {
    if let value = Int(exactly: value) { return value }
    if let value = UInt64(exactly: value) { return value }
    if let value = Int64(exactly: value) { return value }
    throw UserDefaultsStorableError(
      .unstorable, "\(value) has more than the 64 bits of a property list's integers. Store it as text.")
  }

  /// The file on Linux loses the sign of zero. Foundation reads such a text as the number.
  private static func number(_ value: some BinaryFloatingPoint) -> Any {
    #if !canImport(Darwin)
      if value == 0, value.sign == .minus { return "-0.0" }
    #endif
    return Double(value)
  }

  private static func text(_ text: String) -> Any {
    #if canImport(Darwin)
      text
    #else
      beginsWithMark(text.utf8) ? Data(text.utf8) : text
    #endif
  }

  /// Foundation reads a text without a scheme as a file path, so other URLs without one are archived.
  private static func url(_ url: URL) throws(UserDefaultsStorableError) -> Any {
    if url.scheme != nil { return url.absoluteString }
    do {
      return try KeyedArchive.data(of: url.absoluteURL as NSURL)
    } catch {
      throw UserDefaultsStorableError(.unstorable, "The URL cannot be archived.", underlying: error)
    }
  }

  /// Stores a date of whole seconds as a date. Where the file would lose a fraction it stores the seconds since
  /// 2001-01-01 00:00 UTC, which reading a `Date` accepts.
  private static func date(_ date: Date) -> Any {
    #if canImport(Darwin)
      return date
    #else
      let seconds = date.timeIntervalSinceReferenceDate
      // The years 1 to 9999, as the file's format supports.
      let isPlain = seconds == seconds.rounded() && seconds > -63_000_000_000 && seconds < 252_000_000_000
      return isPlain ? date : seconds
    #endif
  }

  private static func array(_ values: [Any]) throws(UserDefaultsStorableError) -> [Any] {
    var objects: [Any] = []
    objects.reserveCapacity(values.count)
    for value in values {
      guard let value = unwrapped(value) else {
        throw UserDefaultsStorableError(
          .unstorable, "A property list's array cannot hold nil. Leave it out, or make the element's type Codable.")
      }
      objects.append(try object(value))
    }
    return objects
  }

  private static func dictionary(_ values: [String: Any]) throws(UserDefaultsStorableError) -> Any {
    var objects: [String: Any] = [:]
    for (key, value) in values {
      guard let value = unwrapped(value) else {
        throw UserDefaultsStorableError(
          .unstorable, "A property list's dictionary cannot hold nil, as it does under \"\(key)\". Leave it out.")
      }
      objects[key] = try object(value)
    }
    return storedDictionary(objects)
  }

  /// Uses an array of keys and values if Foundation on Linux would change the keys.
  static func storedDictionary(_ objects: [String: Any]) -> Any {
    #if !canImport(Darwin)
      if objects.keys.contains(where: { beginsWithMark($0.utf8) }) {
        return objects.sorted { $0.key < $1.key }.flatMap { [text($0.key), $0.value] }
      }
    #endif
    return objects
  }
}

struct ConvertedObject: AsIsUserDefaultsStorable {
  let object: Any
}

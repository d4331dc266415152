import Foundation
import FoundationArchives

extension PropertyListValue {
  /// Returns the object to store, or `nil` if nothing is to be stored.
  static func object(of value: any AsIsUserDefaultsStorable) throws(UserDefaultsStorableError) -> Any? {
    guard let value = unwrapped(value) else { return nil }
    return try object(value)
  }

  private static func object(_ value: Any) throws(UserDefaultsStorableError) -> Any {
    switch value {
    case let value as Bool: return value
    case let value as any BinaryInteger: return try integer(value)
    case let value as Float: return Double(value)
    case let value as CGFloat: return Double(value)
    case is Double, is String, is Data: return value
    case let value as Date: return date(value)
    case let value as NSNumber: return value
    case let value as NSString: return String(describing: value)
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

  /// A date of whole seconds is stored as a date. Where the file would lose the fraction it is stored as the number of
  /// seconds since 2001-01-01 00:00 UTC, which reading a `Date` takes as well.
  private static func date(_ date: Date) -> Any {
    #if canImport(Darwin)
      return date
    #else
      let seconds = date.timeIntervalSinceReferenceDate
      // The years 1 to 9999, which the file's format can write.
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

  private static func dictionary(_ values: [String: Any]) throws(UserDefaultsStorableError) -> [String: Any] {
    var objects: [String: Any] = [:]
    for (key, value) in values {
      guard let value = unwrapped(value) else {
        throw UserDefaultsStorableError(
          .unstorable, "A property list's dictionary cannot hold nil, as it does under \"\(key)\". Leave it out.")
      }
      objects[key] = try object(value)
    }
    return objects
  }
}

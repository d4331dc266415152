import Foundation
import FoundationArchives

/// Archives of Foundation's objects, read as the Swift types that took their place.
enum KeyedDefaults {
  /// No JSON starts like that.
  static func isArchive(_ data: Data) -> Bool { data.starts(with: "bplist".utf8) }

  /// `nil` if values of the type were never stored as objects. A number of which the type has no exact value is none of
  /// it, as where it is stored as it is.
  static func value<Value>(_ type: Value.Type, from data: Data) throws -> Value? {
    let value: Any
    switch type {
    case is Int.Type, is Int?.Type, is Double.Type, is Double?.Type, is Float.Type, is Float?.Type, is Bool.Type,
      is Bool?.Type:
      let number = try archivedNumber(data)
      guard let value = PropertyListValue.read(type, from: number) else {
        throw ConversionError("It is the number \(number), of which \(type) cannot be made.")
      }
      return value
    case is String.Type, is String?.Type: value = try String(describing: KeyedArchive.object(NSString.self, from: data))
    case is Date.Type, is Date?.Type:
      let date = try KeyedArchive.object(NSDate.self, from: data)
      value = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    default: return nil
    }
    return value as? Value
  }

  private static func archivedNumber(_ data: Data) throws -> Any {
    switch try KeyedArchive.plainContent(of: data)?.value {
    case .bool(let value)?: return value
    case .integer(let value)?: return value
    case .unsigned(let value)?: return value
    case .double(let value)?: return value
    // A decimal number, say.
    default: return try KeyedArchive.object(NSNumber.self, from: data).doubleValue
    }
  }
}

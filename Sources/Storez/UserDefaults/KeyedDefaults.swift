import Foundation
import FoundationArchives

/// Archives of Foundation's objects, read as the Swift types that took their place.
enum KeyedDefaults {
  /// No JSON starts like that.
  static func isArchive(_ data: Data) -> Bool { data.starts(with: "bplist".utf8) }

  /// `nil` if values of the type were never stored as objects.
  static func value<Value>(_ type: Value.Type, from data: Data) throws -> Value? {
    func number() throws -> NSNumber { try KeyedArchive.object(NSNumber.self, from: data) }
    let value: Any
    switch type {
    case is Int.Type, is Int?.Type: value = try number().intValue
    case is Double.Type, is Double?.Type: value = try number().doubleValue
    case is Float.Type, is Float?.Type: value = try number().floatValue
    case is Bool.Type, is Bool?.Type: value = try number().boolValue
    case is String.Type, is String?.Type: value = try String(describing: KeyedArchive.object(NSString.self, from: data))
    case is Date.Type, is Date?.Type:
      let date = try KeyedArchive.object(NSDate.self, from: data)
      value = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    default: return nil
    }
    return value as? Value
  }
}

package import Foundation

package enum FoundationObject {
  /// The object for a value of a standard type, or `nil` for other types. Apple's platforms bridge implicitly; Linux
  /// does not.
  package static func bridging(_ value: Any) -> (any NSCoding)? {
    switch value {
    case let value as String: NSString(string: value)
    case let value as Data: NSData(data: value)
    case let value as Bool: NSNumber(value: value)
    case let value as Int64: NSNumber(value: value)
    case let value as UInt64: NSNumber(value: value)
    case let value as Int: NSNumber(value: value)
    case let value as Double: NSNumber(value: value)
    case let value as Float: NSNumber(value: value)
    case let value as Date: NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
    case let value as UUID: NSUUID(uuidString: value.uuidString)
    case let value as URL: NSURL(string: value.absoluteString)
    case let value as [Any]: NSArray(array: value)
    case let value as [AnyHashable: Any]: NSDictionary(dictionary: value)
    case let value as Set<AnyHashable>: NSSet(set: value)
    default: nil
    }
  }
}

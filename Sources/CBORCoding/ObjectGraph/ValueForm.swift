#if !canImport(Darwin)
  import Foundation

  enum ValueForm: UInt8 {
    case swiftBool, swiftInteger, swiftUnsigned, swiftFloat, swiftDouble, swiftString, swiftData, swiftDate, swiftUUID
    /// Any other value type: written in its bridged form, if Foundation bridges it.
    case swiftOther

    // Foundation classes with an item of their own.
    case string, mutableString, boolean, number, decimalNumber, data, mutableData, date, url, uuid, null
    case array, mutableArray, dictionary, mutableDictionary, set, mutableSet, countedSet, orderedSet, mutableOrderedSet
    /// A class in ``FoundationCoding/all``.
    case foundation
    /// A private Foundation class: the object names its public class.
    case foundationCluster

    case object
    case unsupported

    /// Whether an object of this form is written once and then referred to.
    var hasIdentity: Bool {
      switch self {
      case .mutableString, .mutableData, .array, .mutableArray, .dictionary, .mutableDictionary, .set, .mutableSet,
        .countedSet, .orderedSet, .mutableOrderedSet, .foundation, .object:
        true
      default: false
      }
    }

    /// Whether sets and dictionary keys of this form are sorted.
    var isPlain: Bool {
      switch self {
      case .swiftBool, .swiftInteger, .swiftUnsigned, .swiftFloat, .swiftDouble, .swiftString, .swiftData, .swiftDate,
        .swiftUUID, .string, .boolean, .number, .data, .date, .uuid, .null:
        true
      default: false
      }
    }
  }

  extension ValueForm {
    /// Types with a fixed form.
    static let types: [(type: Any.Type, form: ValueForm)] = [
      (Bool.self, .swiftBool), (Int.self, .swiftInteger), (Int8.self, .swiftInteger), (Int16.self, .swiftInteger),
      (Int32.self, .swiftInteger), (Int64.self, .swiftInteger), (UInt.self, .swiftUnsigned),
      (UInt8.self, .swiftUnsigned), (UInt16.self, .swiftUnsigned), (UInt32.self, .swiftUnsigned),
      (UInt64.self, .swiftUnsigned), (Float.self, .swiftFloat), (Double.self, .swiftDouble),
      (CGFloat.self, CGFloat.NativeType.self == Double.self ? .swiftDouble : .swiftFloat),
      (String.self, .swiftString), (Data.self, .swiftData), (Date.self, .swiftDate), (UUID.self, .swiftUUID),
      (NSString.self, .string), (NSMutableString.self, .mutableString), (NSNumber.self, .number),
      // Foundation uses a separate class for Boolean numbers.
      (type(of: NSNumber(value: true)), .boolean), (NSDecimalNumber.self, .decimalNumber), (NSData.self, .data),
      (NSMutableData.self, .mutableData), (NSDate.self, .date), (NSURL.self, .url), (NSUUID.self, .uuid),
      (NSNull.self, .null), (NSArray.self, .array), (NSMutableArray.self, .mutableArray),
      (NSDictionary.self, .dictionary), (NSMutableDictionary.self, .mutableDictionary), (NSSet.self, .set),
      (NSMutableSet.self, .mutableSet), (NSCountedSet.self, .countedSet), (NSOrderedSet.self, .orderedSet),
      (NSMutableOrderedSet.self, .mutableOrderedSet),
    ]
  }
#endif

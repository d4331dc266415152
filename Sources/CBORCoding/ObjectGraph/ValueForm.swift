#if !canImport(Darwin)
  import Foundation

  /// How values of a type are written.
  enum ValueForm: UInt8 {
    // Values of Swift's types.
    case swiftBool, swiftInteger, swiftUnsigned, swiftFloat, swiftDouble, swiftString, swiftData, swiftDate, swiftUUID
    /// Any other value type: what Foundation makes of it is written, if it makes anything of it.
    case swiftOther

    // Foundation's classes with an item of their own.
    case string, mutableString, boolean, number, decimalNumber, data, mutableData, date, url, uuid, null
    case array, mutableArray, dictionary, mutableDictionary, set, mutableSet, countedSet, orderedSet, mutableOrderedSet
    /// A class that ``FoundationCoding`` has an entry for.
    case foundation
    /// A class of Foundation's that stands for another one: ask the object which.
    case foundationCluster

    /// A class that encodes itself.
    case object
    /// A class that cannot be written.
    case unsupported

    /// Whether an object of it is written once, and referred to elsewhere.
    var hasIdentity: Bool {
      switch self {
      case .mutableString, .mutableData, .array, .mutableArray, .dictionary, .mutableDictionary, .set, .mutableSet,
        .countedSet, .orderedSet, .mutableOrderedSet, .foundation, .object:
        true
      default: false
      }
    }

    /// Whether a set of such values is sorted, and a dictionary with such keys.
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
    /// The types with a form of their own.
    static let types: [(type: Any.Type, form: ValueForm)] = [
      (Bool.self, .swiftBool), (Int.self, .swiftInteger), (Int8.self, .swiftInteger), (Int16.self, .swiftInteger),
      (Int32.self, .swiftInteger), (Int64.self, .swiftInteger), (UInt.self, .swiftUnsigned),
      (UInt8.self, .swiftUnsigned), (UInt16.self, .swiftUnsigned), (UInt32.self, .swiftUnsigned),
      (UInt64.self, .swiftUnsigned), (Float.self, .swiftFloat), (Double.self, .swiftDouble),
      (CGFloat.self, CGFloat.NativeType.self == Double.self ? .swiftDouble : .swiftFloat),
      (String.self, .swiftString), (Data.self, .swiftData), (Date.self, .swiftDate), (UUID.self, .swiftUUID),
      (NSString.self, .string), (NSMutableString.self, .mutableString), (NSNumber.self, .number),
      // Foundation has a class of its own for the two numbers that are booleans.
      (type(of: NSNumber(value: true)), .boolean), (NSDecimalNumber.self, .decimalNumber), (NSData.self, .data),
      (NSMutableData.self, .mutableData), (NSDate.self, .date), (NSURL.self, .url), (NSUUID.self, .uuid),
      (NSNull.self, .null), (NSArray.self, .array), (NSMutableArray.self, .mutableArray),
      (NSDictionary.self, .dictionary), (NSMutableDictionary.self, .mutableDictionary), (NSSet.self, .set),
      (NSMutableSet.self, .mutableSet), (NSCountedSet.self, .countedSet), (NSOrderedSet.self, .orderedSet),
      (NSMutableOrderedSet.self, .mutableOrderedSet),
    ]
  }
#endif

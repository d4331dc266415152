public import Foundation

#if canImport(CoreGraphics)
  public import CoreGraphics
#endif

extension String: LMDBCacheStorable {}
extension Bool: LMDBCacheStorable {}
extension Int: LMDBCacheStorable {}
extension Int8: LMDBCacheStorable {}
extension Int16: LMDBCacheStorable {}
extension Int32: LMDBCacheStorable {}
extension Int64: LMDBCacheStorable {}
extension UInt: LMDBCacheStorable {}
extension UInt8: LMDBCacheStorable {}
extension UInt16: LMDBCacheStorable {}
extension UInt32: LMDBCacheStorable {}
extension UInt64: LMDBCacheStorable {}
extension Float: LMDBCacheStorable {}
extension Double: LMDBCacheStorable {}
extension CGFloat: LMDBCacheStorable {}
extension Decimal: LMDBCacheStorable {}
extension Data: LMDBCacheStorable {}
extension Date: LMDBCacheStorable {}
extension URL: LMDBCacheStorable {}
extension UUID: LMDBCacheStorable {}

extension NSString: LMDBCacheStorable {}
extension NSNumber: LMDBCacheStorable {}
extension NSData: LMDBCacheStorable {}
extension NSDate: LMDBCacheStorable {}
extension NSURL: LMDBCacheStorable {}
extension NSUUID: LMDBCacheStorable {}
extension NSArray: LMDBCacheStorable {}
extension NSDictionary: LMDBCacheStorable {}
extension NSSet: LMDBCacheStorable {}

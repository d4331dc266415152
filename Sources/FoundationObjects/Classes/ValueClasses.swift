import Foundation

/// Foundation's value classes, allowed in every archive.
package enum ValueClasses {
  package static let basic: [AnyClass] = [
    NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self, NSSet.self,
    NSOrderedSet.self, NSURL.self, NSUUID.self, NSNull.self,
  ]
}

#if !canImport(Darwin)
  import Foundation

  /// Whether Foundation on Linux can have objects of a class as keys of a dictionary or elements of a set.
  package enum Hashing: Sendable {
    case sound
    /// It can, but to compare the dictionary or the set with another one ends the process.
    case fragile
    /// It cannot: equal objects have different hashes.
    case broken
    /// It cannot: asking for the hash ends the process.
    case fatal

    /// Returns what holds for objects of a class: that of the nearest class of Foundation's that it inherits from.
    package static func of(_ type: AnyClass) -> Hashing {
      var next: AnyClass? = type
      while let ancestor = next, ancestor != NSObject.self {
        if let known = exceptions[ObjectIdentifier(ancestor)] { return known }
        next = _getSuperclass(ancestor)
      }
      return .sound
    }

    private static let exceptions: [ObjectIdentifier: Hashing] = {
      var exceptions: [ObjectIdentifier: Hashing] = [:]
      let fatal: [AnyClass] = [NSDecimalNumber.self, NSError.self]
      let broken: [AnyClass] = [NSMeasurement.self, Unit.self]
      let fragile: [AnyClass] = [
        NSArray.self, NSDictionary.self, NSDateInterval.self, NSURLQueryItem.self, NSPersonNameComponents.self,
      ]
      for type in fatal { exceptions[ObjectIdentifier(type)] = .fatal }
      for type in broken { exceptions[ObjectIdentifier(type)] = .broken }
      for type in fragile { exceptions[ObjectIdentifier(type)] = .fragile }
      return exceptions
    }()
  }
#endif

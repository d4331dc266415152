#if !canImport(Darwin)
  import Foundation

  /// Whether Foundation on Linux supports objects of a class as dictionary keys or set elements.
  package enum Hashing: Sendable {
    case sound
    /// Yes, but comparing the dictionary or set with another one ends the process.
    case fragile
    /// No: equal objects have different hashes.
    case broken
    /// No: computing the hash ends the process.
    case fatal

    /// The value for a class, from its nearest Foundation superclass.
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

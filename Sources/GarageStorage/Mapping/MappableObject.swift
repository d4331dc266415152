public import Foundation

/// An object parked by a mapping of its properties, without `Codable`.
///
/// ```swift
/// class Person: NSObject, MappableObject {
///   var name = ""
///   var ssn = ""
///   required override init() {}
///   class var objectMapping: ObjectMapping {
///     let mapping = ObjectMapping(for: Person.self)
///     mapping.addMappings(["name": \Person.name, "ssn": \Person.ssn])
///     mapping.identifyingAttribute = "ssn"
///     return mapping
///   }
/// }
/// ```
///
/// A mapped property is `Codable`, a `MappableObject`, or an optional, an array, or a dictionary with `String` keys of
/// these. Two mapped objects cannot be plain properties of each other: retrieving them is a ``GarageError/Code/cycle``.
///
/// An object without an identifying attribute is stored inside its owner, with its class and sync status. Reading it
/// requires finding its class by name, see <doc:ComingFromGarageStorage>.
public protocol MappableObject: NSObject {
  /// The properties to park.
  static var objectMapping: ObjectMapping { get }

  /// Creates the object before its properties are set.
  init()
}

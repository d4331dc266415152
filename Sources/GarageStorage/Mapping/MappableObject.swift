public import Foundation

/// An object of a class that is parked by a mapping of its properties, and need not be `Codable`.
///
/// ```swift
/// class Person: NSObject, MappableObject {
///   var name = ""
///   var ssn = ""
///
///   required override init() {}
///
///   class var objectMapping: ObjectMapping {
///     let mapping = ObjectMapping(for: Person.self)
///     mapping.addMappings(["name": \Person.name, "ssn": \Person.ssn])
///     mapping.identifyingAttribute = "ssn"
///     return mapping
///   }
/// }
/// ```
///
/// A mapped property is `Codable`, or a `MappableObject`, or an optional, an array, or a dictionary with `String` keys of
/// these. Two mapped objects cannot be plain properties of each other: retrieving them is a
/// ``GarageError/Code/cycle``.
///
/// An object without an identifying attribute that is a property of another one is stored inside that one, with its own
/// class and its sync status. Its class has to be found by its name to be read, see <doc:ComingFromGarageStorage>.
public protocol MappableObject: NSObject {
  /// The properties to park.
  static var objectMapping: ObjectMapping { get }

  /// Makes the object whose properties are then set.
  init()
}

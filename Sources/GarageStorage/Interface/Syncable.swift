/// A type whose sync status the garage stores.
///
/// The status is stored next to the object: parking takes it from the property, retrieving sets the property, and
/// ``Garage/setSyncStatus(_:for:)`` changes it without parking. Omit the property from the type's `CodingKeys`.
public protocol Syncable {
  var syncStatus: SyncStatus { get set }
}

/// Something whose state with respect to a web service the garage keeps.
///
/// The status is stored beside the object, not in it: parking takes it from the property, retrieving sets the property,
/// and ``Garage/setSyncStatus(_:for:)`` changes what is stored without parking. Leave the property out of the
/// type's `CodingKeys`.
public protocol Syncable {
  var syncStatus: SyncStatus { get set }
}

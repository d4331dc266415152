/// A snapshot of the store without pending changes. Valid in the body it is lent to.
protocol StoreSnapshot: AnyObject {
  func record(_ key: ObjectKey) throws(GarageError) -> StoredRecord?

  /// All objects of a type, in key order.
  func records(ofType type: String) throws(GarageError) -> [(ObjectKey, StoredRecord)]

  /// A type's objects with a status, in key order. Reads only these.
  func records(ofType type: String, _ status: SyncStatus) throws(GarageError) -> [(ObjectKey, StoredRecord)]

  /// The types that have objects.
  func types() throws(GarageError) -> [String]

  /// Whether anything was stored encrypted since the garage was last empty.
  func isEncrypted() throws(GarageError) -> Bool
}

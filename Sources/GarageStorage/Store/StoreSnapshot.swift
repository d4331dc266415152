/// What is stored at one moment, without the changes that wait. It ends with the body that it is lent to.
protocol StoreSnapshot: AnyObject {
  func record(_ key: ObjectKey) throws(GarageError) -> StoredRecord?

  /// All objects of a type, in the order of their keys.
  func records(ofType type: String) throws(GarageError) -> [(ObjectKey, StoredRecord)]

  /// The objects of a type that have a status, in the order of their keys. Only these are read.
  func records(ofType type: String, _ status: SyncStatus) throws(GarageError) -> [(ObjectKey, StoredRecord)]

  /// The names of the types that have objects.
  func types() throws(GarageError) -> [String]

  /// Whether something was ever stored encrypted, since the garage was empty.
  func isEncrypted() throws(GarageError) -> Bool
}

extension Garage {
  /// Sets the sync status of a parked object without changing its stored content or the object's own property.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func setSyncStatus<T: Encodable & Syncable>(_ syncStatus: SyncStatus, for object: T) throws {
    try setSyncStatus(syncStatus, for: [object])
  }

  /// Sets the sync status of parked objects, in one transaction.
  ///
  /// - Throws: As for one object, if any is not parked. No status is set then.
  public func setSyncStatus<T: Encodable & Syncable>(_ syncStatus: SyncStatus, for objects: [T]) throws {
    try setSyncStatus(syncStatus, keys: try objects.map { try ParkingSession.key(of: $0) })
  }

  func setSyncStatus(_ syncStatus: SyncStatus, keys: [ObjectKey]) throws {
    try change { view in
      var changes = PendingChanges()
      for key in keys {
        try self.check(key, view)
        changes.setStatus(syncStatus, key)
      }
      return changes
    }
  }

  /// The stored sync status of an object.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func syncStatus<T: Encodable & Syncable>(for object: T) throws -> SyncStatus {
    try syncStatus(ParkingSession.key(of: object))
  }

  func syncStatus(_ key: ObjectKey) throws -> SyncStatus {
    try read { view in
      guard let record = try view.record(key) else {
        throw GarageError.failedToRetrieveObject(ObjectKey.shortName(ofType: key.type), key.identifier)
      }
      return record.status
    }
  }

  /// Retrieves the objects of a type that have a sync status. Reads only these and the objects they point to.
  ///
  /// - Throws: The errors of ``retrieve(_:identifier:)``, if any object cannot be read.
  public func retrieveAll<T: Decodable & Syncable>(withStatus syncStatus: SyncStatus) throws -> [T] {
    try retrieveAll(T.self, withStatus: syncStatus)
  }

  /// Retrieves the objects of the given type that have a sync status.
  public func retrieveAll<T: Decodable & Syncable>(
    _ objectType: T.Type, withStatus syncStatus: SyncStatus
  ) throws -> [T] {
    try retrieveAll(objectType) { view in try view.records(ofType: TypeIdentity.of(objectType).name, syncStatus) }
  }
}

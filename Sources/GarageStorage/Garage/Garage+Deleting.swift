extension Garage {
  /// Deletes an object. Keeps the objects it points to and those that point to it.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked; ``GarageError/Code/storageFailed``.
  public func delete<T: Encodable>(_ object: T) throws {
    try delete(ParkingSession.key(of: object))
  }

  func delete(_ key: ObjectKey) throws {
    try change { view in
      try self.check(key, view)
      var changes = PendingChanges()
      changes.delete(key)
      return changes
    }
  }

  func check(_ key: ObjectKey, _ view: GarageView) throws {
    guard try view.record(key) != nil else {
      throw GarageError.failedToRetrieveObject(ObjectKey.shortName(ofType: key.type), key.identifier)
    }
  }

  /// Deletes all objects of a type, but none they point to, in one transaction.
  public func deleteAll<T>(_ objectType: T.Type) throws {
    var changes = PendingChanges()
    changes.clear(type: TypeIdentity.of(objectType).name)
    try change(changes)
  }

  /// Deletes all objects, of all types, in one transaction.
  public func deleteAllObjects() throws {
    var changes = PendingChanges()
    changes.clearAll()
    try change(changes)
  }
}

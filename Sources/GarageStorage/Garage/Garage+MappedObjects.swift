// Mapped objects. The names are the original's for its Objective-C API.

extension Garage {
  /// Parks an object by its mapping, with the identified objects it leads to, in one transaction.
  ///
  /// - Throws: ``GarageError/Code/invalidMapping``, and the errors of ``park(_:)``. Nothing was parked then.
  public func parkObject(_ object: some MappableObject) throws { try parkAllObjects([object]) }

  /// Parks objects by their mappings, in one transaction.
  public func parkAllObjects<T: MappableObject>(_ objects: [T]) throws { try parkObjects(objects) }

  /// Parks objects of any classes by their mappings, in one transaction.
  public func parkObjects(_ objects: [any MappableObject]) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    for object in objects { try session.add(mapped: object) }
    try park(session)
  }

  /// Retrieves the object of a class with an identifier, or `nil`.
  public func retrieveObject<T: MappableObject>(_ objectClass: T.Type, identifier: String) throws -> T? {
    let key = ObjectKey(TypeIdentity.of(objectClass), identifier)
    return try retrieving { try $0.root(mapped: objectClass, key) }
  }

  /// Retrieves all objects of a class, ordered by the bytes of their identifiers.
  public func retrieveAllObjects<T: MappableObject>(_ objectClass: T.Type) throws -> [T] {
    try retrieveObjects(objectClass, nil)
  }

  /// Retrieves the objects of a class that have a sync status.
  public func retrieveObjects<T: MappableObject & Syncable>(withStatus syncStatus: SyncStatus) throws -> [T] {
    try retrieveObjects(withStatus: syncStatus, ofClass: T.self)
  }

  /// Retrieves the objects of a class that have a sync status. Those not ``Syncable`` are ``SyncStatus/undetermined``.
  public func retrieveObjects<T: MappableObject>(
    withStatus syncStatus: SyncStatus, ofClass objectClass: T.Type
  ) throws -> [T] {
    try retrieveObjects(objectClass, syncStatus)
  }

  private func retrieveObjects<T: MappableObject>(_ type: T.Type, _ status: SyncStatus?) throws -> [T] {
    try retrieving { session in
      try session.view.records(ofType: TypeIdentity.of(type).name, status)
        .map { try session.object(mapped: type, $0.0, $0.1) }
    }
  }

  /// Deletes an object, but none it points to.
  ///
  /// - Throws: ``GarageError/Code/failedToRetrieveObject`` if it is not parked.
  public func deleteObject(_ object: some MappableObject) throws { try delete(ParkingSession.key(ofMapped: object)) }

  /// Deletes all objects of a class, but none they point to.
  public func deleteAllObjects<T: MappableObject>(_ objectClass: T.Type) throws { try deleteAll(objectClass) }

  /// Sets the sync status of a parked object.
  public func setSyncStatus<T: MappableObject & Syncable>(_ syncStatus: SyncStatus, for object: T) throws {
    try setSyncStatus(syncStatus, keys: [ParkingSession.key(ofMapped: object)])
  }

  /// Sets the sync status of parked objects, in one transaction.
  public func setSyncStatus<T: MappableObject & Syncable>(_ syncStatus: SyncStatus, for objects: [T]) throws {
    try setSyncStatus(syncStatus, keys: try objects.map { try ParkingSession.key(ofMapped: $0) })
  }

  /// The stored sync status of an object.
  public func syncStatus<T: MappableObject & Syncable>(for object: T) throws -> SyncStatus {
    try syncStatus(ParkingSession.key(ofMapped: object))
  }
}

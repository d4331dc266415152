extension GarageError {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    let number: Int

    private init(_ description: String, _ number: Int) {
      self.description = description
      self.number = number
    }

    /// There is no parked object of the type with the identifier, where there has to be one: to delete it, or to ask
    /// for or set its sync status. Retrieving an object that is not there is not an error.
    public static let failedToRetrieveObject = Code("failedToRetrieveObject", 1)
    /// An object is to be a root, and its type is neither `Identifiable` nor `Hashable`.
    public static let missingConformance = Code("missingConformance", 2)
    /// The type's identifier is neither a `String`, nor a `UUID`, nor `LosslessStringConvertible`.
    public static let unsupportedIDConformance = Code("unsupportedIDConformance", 3)
    /// The object's record holds no content. The record is kept.
    public static let storageDataIsNil = Code("storageDataIsNil", 4)
    /// An object points to one that is not parked. The message says which object does, and by which property. Thrown as
    /// a `DecodingError`.
    public static let missingReference = Code("missingReference", 5)
    /// Objects are plain properties of each other: none of them can be made before the others are. The message leads
    /// from the first object through its properties back to it. The objects are kept.
    public static let cycle = Code("cycle", 6)
    /// Objects are nested too deeply. The message leads to the depth that is too much.
    public static let nestedTooDeeply = Code("nestedTooDeeply", 7)
    /// What is stored cannot be read as the type that is asked for. It is kept. Thrown as a `DecodingError`.
    public static let undecodable = Code("undecodable", 8)
    /// The object cannot be encoded. Nothing was parked.
    public static let unencodable = Code("unencodable", 9)
    /// What is stored for one object is damaged. It is kept.
    public static let damaged = Code("damaged", 10)
    /// The garage, or the object in it, is encrypted, and there is no ``Garage/dataEncryptionDelegate``.
    public static let missingEncryptionDelegate = Code("missingEncryptionDelegate", 11)
    /// The mapping of the type lacks something, or has something that cannot be.
    public static let invalidMapping = Code("invalidMapping", 12)
    /// The objects cannot be given the new type's name. Nothing was changed.
    public static let migrationConflict = Code("migrationConflict", 13)
    /// The description of the store cannot be used.
    public static let invalidStore = Code("invalidStore", 14)
    /// LMDB or the file system failed; see ``GarageError/underlying``. Nothing was changed; what waits for
    /// ``Garage/save()`` still waits.
    public static let storageFailed = Code("storageFailed", 15)
    /// The garage's file was cut off or damaged. It was found before anything was read from it, and nothing was
    /// changed or removed.
    public static let damagedStore = Code("damagedStore", 16)
    /// The directory holds something else: a cache, another program's database, other files. Nothing was changed.
    public static let notAGarage = Code("notAGarage", 17)
    /// The garage was written by a newer version of this package. Nothing was changed.
    public static let unsupportedVersion = Code("unsupportedVersion", 18)
    /// The garage was closed.
    public static let closed = Code("closed", 19)
    /// One of the garage's files is a symbolic link, or not a regular file. Nothing was changed.
    public static let linkedFile = Code("linkedFile", 20)
  }
}

// The original's cases, so that `catch GarageError.failedToRetrieveObject` means the same.
extension GarageError {
  /// ``Code/failedToRetrieveObject``
  public static var failedToRetrieveObject: Code { .failedToRetrieveObject }
  /// ``Code/missingConformance``
  public static var missingConformance: Code { .missingConformance }
  /// ``Code/unsupportedIDConformance``
  public static var unsupportedIDConformance: Code { .unsupportedIDConformance }
  /// ``Code/storageDataIsNil``
  public static var storageDataIsNil: Code { .storageDataIsNil }
}

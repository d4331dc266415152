#if !canImport(Darwin)
  import Foundation
  import CBORCoding

  /// The cache's coder of objects.
  struct CBORObjectCoder: ObjectCoder {
    let name = "CBORCoding.CBORKeyedArchiver"

    func encode(_ object: any NSCoding) throws -> Data {
      try CBORKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    }

    func decode(from archive: Data) throws -> Any {
      let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: archive)
      unarchiver.requiresSecureCoding = false
      guard let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) else {
        throw unarchiver.error ?? WorkloadError("The archive is empty.")
      }
      return object
    }
  }
#endif

import Foundation

struct KeyedArchives: ObjectCoder {
  let name = "NSKeyedArchiver"
  let slowness = 20

  func encode(_ object: any NSCoding) throws -> Data {
    try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  func decode(from archive: Data) throws -> Any {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archive)
    unarchiver.requiresSecureCoding = false
    guard let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) else {
      throw unarchiver.error ?? WorkloadError("The archive is empty.")
    }
    return object
  }
}

package import Foundation

/// Objects in the archives that `NSKeyedArchiver` writes.
package enum KeyedArchive {
  package static func data(of object: any NSCoding) throws -> Data {
    try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  /// - Throws: what the unarchiver reports, or `CocoaError.coderReadCorrupt` if the archive holds another class.
  package static func object<Object: NSCoding>(_ type: Object.Type, from data: Data) throws -> Object {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = false
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    if let error = unarchiver.error { throw error }
    if let object = object as? Object { return object }
    // On Linux the unarchiver hands out Swift values for some of Foundation's classes.
    if let object = object.flatMap(FoundationObject.bridging) as? Object { return object }
    throw CocoaError(.coderReadCorrupt)
  }
}

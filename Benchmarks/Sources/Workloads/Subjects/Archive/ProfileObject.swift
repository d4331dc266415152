import Foundation

/// The fields of ``Profile`` as an object.
final class ProfileObject: NSObject, NSCoding {
  let profile: Profile

  init(_ profile: Profile) { self.profile = profile }

  init?(coder: NSCoder) {
    var profile = Profile(id: coder.decodeInteger(forKey: "id"))
    guard let name = coder.decodeObject(forKey: "name") as? String,
      let tags = coder.decodeObject(forKey: "tags") as? [String]
    else { return nil }
    profile.name = name
    profile.score = coder.decodeDouble(forKey: "score")
    profile.isActive = coder.decodeBool(forKey: "isActive")
    profile.tags = tags
    self.profile = profile
  }

  override func isEqual(_ object: Any?) -> Bool { (object as? ProfileObject)?.profile == profile }

  override var hash: Int { profile.id }

  func encode(with coder: NSCoder) {
    coder.encode(profile.id, forKey: "id")
    coder.encode(profile.name, forKey: "name")
    coder.encode(profile.score, forKey: "score")
    coder.encode(profile.isActive, forKey: "isActive")
    coder.encode(profile.tags, forKey: "tags")
  }
}

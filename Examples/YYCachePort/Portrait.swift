import Foundation

/// A cached object that archives itself, unchanged from YYCache.
final class Portrait: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  let name: String
  let colours: [Int]
  var visits: Int

  init(name: String, colours: [Int]) {
    self.name = name
    self.colours = colours
    visits = 1
  }

  init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
      let colours = coder.decodeObject(of: [NSArray.self, NSNumber.self], forKey: "colours") as? [Int]
    else { return nil }
    self.name = String(describing: name)
    self.colours = colours
    visits = coder.decodeInteger(forKey: "visits")
  }

  func encode(with coder: NSCoder) {
    coder.encode(NSString(string: name), forKey: "name")
    coder.encode(NSArray(array: colours), forKey: "colours")
    coder.encode(visits, forKey: "visits")
  }
}

import Foundation

/// Both an NSCoding object and Codable.
final class Both: NSObject, NSCoding, Codable {
  let text: String
  init(_ text: String) { self.text = text }
  required init?(coder: NSCoder) {
    text = coder.decodeObject(of: NSString.self, forKey: "text").map { "\($0)" } ?? ""
  }
  func encode(with coder: NSCoder) { coder.encode(NSString(string: text), forKey: "text") }
}

// What scene.js takes of three.js; three.js beside it is this, bundled (README.md).
export {
  AmbientLight, Box3, BufferAttribute, BufferGeometry, Color, ColorManagement, DirectionalLight, DoubleSide, IcosahedronGeometry,
  InstancedMesh, LinearSRGBColorSpace, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial, PerspectiveCamera,
  Points, PointsMaterial, Quaternion, Scene, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";

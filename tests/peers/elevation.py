"""Writes elevation files with GDAL (by rasterio) and NumPy, and records what GDAL reads from them.

Each line of points.txt: file, column, row, x, y, latitude, longitude, height ('nan' for no data).
Formats that GDAL does not write (PDS3) are written here by the standard.
"""

import os
import sys

import numpy as np
import rasterio
from rasterio.crs import CRS
from rasterio.transform import Affine
from rasterio.warp import transform as warp

out = sys.argv[1]
rng = np.random.default_rng(7)
POINTS = 40
COLUMNS, ROWS = 150, 110

EAST_SOUTH = np.add.outer(37.0 * np.sin(np.arange(ROWS) / 9), 410.0 * np.cos(np.arange(COLUMNS) / 31))
HEIGHTS = (EAST_SOUTH - 1900 + rng.normal(0, 3, EAST_SOUTH.shape)).astype("float32")
GEOGRAPHIC = CRS.from_user_input("IAU_2015:30100")
ESRI_SOUTH = (
    'PROJCS["Moon_2000_South_Pole_Stereographic",GEOGCS["GCS_Moon_2000",DATUM["D_Moon_2000",'
    'SPHEROID["Moon_2000_IAU_IAG",1737400.0,0.0]],PRIMEM["Reference_Meridian",0.0],'
    'UNIT["Degree",0.0174532925199433]],PROJECTION["Stereographic"],PARAMETER["False_Easting",0.0],'
    'PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Scale_Factor",1.0],'
    'PARAMETER["Latitude_Of_Origin",-90.0],UNIT["Meter",1.0]]'
)
SYSTEMS = {
    "south": ("IAU_2015:30135", Affine(5, 0, -12345.5, 0, -5, 6789.25)),
    "north": ("IAU_2015:30130", Affine(20, 0, 3000, 0, -20, -40000)),
    "esri_south": (ESRI_SOUTH, Affine(5, 0, -200, 0, -5, 300)),
    "true_scale": ("+proj=stere +lat_0=90 +lat_ts=80 +lon_0=30 +R=1737400 +units=m", Affine(9, 0, 1e4, 0, -9, 2e4)),
    "scaled": ("+proj=stere +lat_0=-90 +k=0.9 +lon_0=-60 +x_0=5000 +y_0=-700 +R=1737400 +units=m", Affine(9, 0, 1e4, 0, -9, 2e4)),
    "cylinder": ("IAU_2015:30110", Affine(500, 0, -9e5, 0, -500, 8e5)),
    "far_side": ("IAU_2015:30115", Affine(500, 0, -9e5, 0, -500, 8e5)),
    "parallel": ("+proj=eqc +lat_ts=26 +lon_0=3 +R=1737400 +units=m", Affine(2, 0, 15000, 0, -2, 791000)),
    "sinusoidal": ("IAU_2015:30120", Affine(500, 0, 2e5, 0, -500, 8e5)),
    "degrees": ("IAU_2015:30100", Affine(0.01, 0, 3.1, 0, -0.02, 27.3)),
}


def tell(name, path, opened=None, heights=None):
    """Appends heights at random points of a file, as GDAL reads them."""
    with rasterio.open(opened or path) as data:
        posts = data.read(1, masked=True)
        if heights is None:
            heights = np.ma.filled(posts.astype("float64"), np.nan) * data.scales[0] + data.offsets[0]
        rows = rng.integers(0, data.height, POINTS)
        columns = rng.integers(0, data.width, POINTS)
        xs, ys = data.transform * (columns + 0.5, rows + 0.5)
        geographic = data.crs if data.crs.is_geographic else CRS.from_wkt(GEOGRAPHIC.to_wkt())
        lons, lats = warp(data.crs, geographic, xs, ys)
    with open(os.path.join(out, "points.txt"), "a") as lines:
        for column, row, x, y, lat, lon in zip(columns, rows, xs, ys, lats, lons):
            lines.write(f"{name} {column} {row} {x!r} {y!r} {lat!r} {lon!r} {float(heights[row, column])!r}\n".replace("np.float64(", "").replace(")", ""))


def write(name, driver, crs, affine, posts, scale=None, **profile):
    path = os.path.join(out, name)
    rows, columns = posts.shape
    shape = {"width": columns, "height": rows, "count": 1, "dtype": posts.dtype}
    system = CRS.from_user_input(crs)
    with rasterio.open(path, "w", driver=driver, crs=system, transform=affine, **shape, **profile) as data:
        data.write(posts, 1)
        if scale:
            data.scales, data.offsets = [scale[0]], [scale[1]]
    return path


def geotiffs():
    for name, (crs, affine) in SYSTEMS.items():
        tell(f"{name}.tif", write(f"{name}.tif", "GTiff", crs, affine, HEIGHTS))
    crs, affine = SYSTEMS["south"]
    counts = np.round(HEIGHTS * 2).astype("int16")
    holes = HEIGHTS.copy()
    holes[rng.random(holes.shape) < 0.2] = -3.4028234663852886e38
    tiles = {"tiled": True, "blockxsize": 64, "blockysize": 32}
    variants = [("plain", {}), ("strips", {"blockysize": 7}), ("tiles", tiles), ("big", {"BIGTIFF": "YES"}),
                ("msb", {"ENDIANNESS": "BIG"}), ("msb_tiles", {"ENDIANNESS": "BIG", "compress": "lzw", **tiles})]
    for packing in ["deflate", "lzw", "packbits"]:
        variants.append((f"{packing}", {"compress": packing}))
        variants.append((f"{packing}_tiles", {"compress": packing, **tiles}))
    for packing in ["deflate", "lzw"]:
        variants.append((f"{packing}_2", {"compress": packing, "predictor": 2}))
        variants.append((f"{packing}_2_tiles", {"compress": packing, "predictor": 2, **tiles}))
    for name, options in variants:
        tell(f"f_{name}.tif", write(f"f_{name}.tif", "GTiff", crs, affine, HEIGHTS, **options))
        tell(f"i_{name}.tif", write(f"i_{name}.tif", "GTiff", crs, affine, counts, scale=(0.5, -10.0), nodata=-32768, **options))
    for name, options in [("3", {}), ("3_tiles", tiles)]:
        tell(f"f_{name}.tif", write(f"f_{name}.tif", "GTiff", crs, affine, HEIGHTS, compress="deflate", predictor=3, **options))
        tell(f"d_{name}.tif", write(f"d_{name}.tif", "GTiff", crs, affine, HEIGHTS.astype("float64"), compress="deflate", predictor=3, **options))
    tell("holes.tif", write("holes.tif", "GTiff", crs, affine, holes, nodata=-3.4028234663852886e38, compress="deflate"))
    tell("bytes.tif", write("bytes.tif", "GTiff", crs, affine, (counts % 250).astype("uint8")))
    tell("words.tif", write("words.tif", "GTiff", crs, affine, (counts % 9000).astype("uint16"), compress="lzw", predictor=2))
    big = np.tile(HEIGHTS, (8, 6))
    tell("cog.tif", write("cog.tif", "COG", crs, affine, big, compress="deflate", blocksize=128, predictor="YES"))
    tell("cog_int.tif", write("cog_int.tif", "COG", crs, affine, np.tile(counts, (8, 6)), compress="lzw", blocksize=128))
    turned = Affine.translation(1000, 2000) * Affine.rotation(30) * Affine.scale(5, -5)
    tell("turned.tif", write("turned.tif", "GTiff", crs, turned, HEIGHTS))
    path = write("point.tif", "GTiff", crs, affine, HEIGHTS)
    with rasterio.open(path, "r+") as data:
        data.update_tags(AREA_OR_POINT="Point")
    tell("point.tif", path)
    sparse = write("sparse.tif", "GTiff", crs, affine, np.full((256, 256), 7.0, "float32"), nodata=-1.0, SPARSE_OK="TRUE", **tiles)
    tell("sparse.tif", sparse)
    code = write("code.tif", "GTiff", crs, affine, HEIGHTS)
    tell("code.tif", code)


def labels():
    counts = np.round(HEIGHTS * 2).astype("int16")
    for name in ["south", "north", "cylinder", "parallel", "sinusoidal"]:
        crs, affine = SYSTEMS[name]
        square = Affine(affine.a, 0, affine.c, 0, -affine.a, affine.f)
        write(f"pds4_{name}.xml", "PDS4", crs, square, HEIGHTS)
        tell(f"pds4_{name}.xml", os.path.join(out, f"pds4_{name}.xml"))
        write(f"isis_{name}.cub", "ISIS3", crs, square, HEIGHTS, DATA_LOCATION="LABEL")
        tell(f"isis_{name}.cub", os.path.join(out, f"isis_{name}.cub"))
    crs, affine = SYSTEMS["south"]
    write("tiled.cub", "ISIS3", crs, affine, HEIGHTS, DATA_LOCATION="LABEL", TILED="YES", BLOCKXSIZE=64, BLOCKYSIZE=32)
    tell("tiled.cub", os.path.join(out, "tiled.cub"))
    write("counts.xml", "PDS4", crs, affine, counts, scale=(0.5, 12.0), nodata=-32768)
    tell("counts.xml", os.path.join(out, "counts.xml"))
    write("grid.asc", "AAIGrid", crs, affine, HEIGHTS, nodata=-9999, DECIMAL_PRECISION=7)
    tell("grid.asc", os.path.join(out, "grid.asc"))
    pds3("cylinder", "SIMPLE CYLINDRICAL", 0, 180, 4, counts)
    pds3("pole", "POLAR STEREOGRAPHIC", -90, 0, None, counts)


def pds3(name, projection, latitude, longitude, per_degree, counts):
    """A label like those of LOLA. GDAL adds OFFSET to values, so that it reads radii."""
    lines, samples = counts.shape
    scale = 1737400 * np.pi / 180 / per_degree if per_degree else 20.0
    resolution = f" MAP_RESOLUTION = {per_degree} <pix/deg>\n" if per_degree else ""
    label = f"""PDS_VERSION_ID = "PDS3"
RECORD_TYPE = FIXED_LENGTH
RECORD_BYTES = {samples * 2}
FILE_RECORDS = {lines}
TARGET_NAME = MOON
^IMAGE = "PDS3_{name.upper()}.IMG"
OBJECT = IMAGE
 LINES = {lines}
 LINE_SAMPLES = {samples}
 SAMPLE_TYPE = LSB_INTEGER
 SAMPLE_BITS = 16
 UNIT = METER
 SCALING_FACTOR = 0.5
 OFFSET = 1737400.
END_OBJECT = IMAGE
OBJECT = IMAGE_MAP_PROJECTION
 MAP_PROJECTION_TYPE = "{projection}"
{resolution} MAP_SCALE = {scale / 1000!r} <km/pix>
 A_AXIS_RADIUS = 1737.4 <km>
 B_AXIS_RADIUS = 1737.4 <km>
 C_AXIS_RADIUS = 1737.4 <km>
 POSITIVE_LONGITUDE_DIRECTION = "EAST"
 CENTER_LATITUDE = {latitude} <deg>
 CENTER_LONGITUDE = {longitude} <deg>
 LINE_PROJECTION_OFFSET = {lines / 2 - 0.5 + 10}
 SAMPLE_PROJECTION_OFFSET = {samples / 2 - 0.5 - 20}
END_OBJECT = IMAGE_MAP_PROJECTION
END
""".replace("np.float64(", "").replace(")", "")
    path = os.path.join(out, f"PDS3_{name.upper()}.LBL")
    with open(path, "w", newline="\r\n") as file:
        file.write(label)
    counts.astype("<i2").tofile(path.replace(".LBL", ".IMG"))
    tell(f"PDS3_{name.upper()}.LBL", path, heights=counts * 0.5)


def pictures():
    """Files without georeference, whose expected points come from a GeoTIFF with the same posts and position."""
    crs, affine = SYSTEMS["south"]
    placed = write("placed.tif", "GTiff", crs, affine, HEIGHTS)
    counts = np.round((HEIGHTS + 2400) * 60).astype("uint16")
    with rasterio.open(os.path.join(out, "posts.png"), "w", driver="PNG", width=COLUMNS, height=ROWS, count=1, dtype="uint16") as data:
        data.write(counts, 1)
    tell("posts.png", placed, heights=counts * 0.125 - 3000.0)
    for name, posts in [("f4", HEIGHTS), ("f8", HEIGHTS.astype(">f8"))]:
        np.save(os.path.join(out, f"{name}.npy"), posts)
        tell(f"{name}.npy", placed, heights=posts.astype("float64"))


def refused():
    """Files that must be refused: not of the Moon, or not readable as heights."""
    crs, affine = SYSTEMS["south"]
    degrees = SYSTEMS["degrees"][1]
    write("earth.tif", "GTiff", "EPSG:4326", degrees, HEIGHTS)
    write("utm.tif", "GTiff", "EPSG:32633", affine, HEIGHTS)
    write("mars.tif", "GTiff", "IAU_2015:49910", affine, HEIGHTS)
    write("mars.xml", "PDS4", "IAU_2015:49910", affine, HEIGHTS)
    write("mars.cub", "ISIS3", "IAU_2015:49910", affine, HEIGHTS, DATA_LOCATION="LABEL")
    write("mercator.tif", "GTiff", "+proj=merc +R=1737400 +units=m", affine, HEIGHTS)
    write("feet.tif", "GTiff", "+proj=stere +lat_0=90 +R=1737400 +units=ft", affine, HEIGHTS)
    write("zstd.tif", "GTiff", crs, affine, HEIGHTS, compress="zstd")
    bands = {"driver": "GTiff", "width": COLUMNS, "height": ROWS, "dtype": "float32", "transform": affine}
    with rasterio.open(os.path.join(out, "bands.tif"), "w", count=2, crs=CRS.from_user_input(crs), **bands) as data:
        data.write(np.stack([HEIGHTS, HEIGHTS]))
    with rasterio.open(os.path.join(out, "nowhere.tif"), "w", count=1, **bands) as data:
        data.write(HEIGHTS, 1)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(write("mask.tif", "GTiff", crs, affine, HEIGHTS), "r+") as data:
            data.write_mask(HEIGHTS > -2000)


if len(sys.argv) > 2:
    for path in sys.argv[2:]:
        tell(os.path.basename(path), path)
else:
    geotiffs()
    labels()
    pictures()
    refused()
print("ok")
